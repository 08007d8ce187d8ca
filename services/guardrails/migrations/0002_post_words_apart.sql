-- The runs that the release before wrote hold their words themselves: these move to `run_text`, as `words.apart` does.
insert into run_text (text_id, tenant, conversation_id, words, at)
select run_id, tenant, conversation_id, at_once.words, at
from run, lateral (select jsonb_build_object(
  'body', draft -> 'body',
  'evidence', case jsonb_typeof(facts -> 'evidence') when 'array' then facts -> 'evidence' else '[]' end,
  'reviewed', coalesce(facts -> 'promise_review' -> 'promises', '[]'),
  'excerpts', jsonb_path_query_array(verdicts, '$[*].spans[*].excerpt'),
  'amended', jsonb_path_query_array(verdicts, '$[*] ? (@.outcome == "amended").amended_body')) as words) as at_once
where text_id is null and draft is not null and facts is not null;

-- A quoted text that left no trace in `sent_text` gets an id that names nothing: its run counts as "text gone".
update run r set
  text_id = run_id,
  recent = case jsonb_typeof(facts -> 'recent_outbound') when 'array' then array(
    select coalesce(
      (select s.decision_id from sent_text s
       where s.channel_id = (r.draft ->> 'channel')::uuid and s.body = quoted.body limit 1),
      gen_random_uuid())
    from jsonb_array_elements_text(r.facts -> 'recent_outbound') with ordinality as quoted (body, place)
    order by quoted.place) else '{}' end,
  draft = jsonb_set(draft, '{body}', '""'),
  facts = facts
    || case jsonb_typeof(facts -> 'evidence') when 'array' then '{"evidence": []}'::jsonb else '{}' end
    || case jsonb_typeof(facts -> 'recent_outbound') when 'array' then '{"recent_outbound": []}'::jsonb else '{}' end
    || case when facts -> 'promise_review' ? 'promises'
         then jsonb_build_object('promise_review', facts -> 'promise_review' || '{"promises": []}') else '{}' end,
  verdicts = (
    select coalesce(jsonb_agg(verdict || jsonb_build_object('amended_body', null, 'spans', (
        select coalesce(jsonb_agg(span || '{"excerpt": ""}' order by nth), '[]')
        from jsonb_array_elements(verdict -> 'spans') with ordinality as spans (span, nth))) order by place), '[]')
    from jsonb_array_elements(r.verdicts) with ordinality as each (verdict, place))
where text_id is null and draft is not null and facts is not null;
