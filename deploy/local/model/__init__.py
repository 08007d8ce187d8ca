"""A small local model: an OpenAI-compatible server that answers by rules, so that the real client path runs offline.

It plays three parts, and what the request offers says which one:

- tools with `send_message`                      → speaking: at most one search, then one message; operations
                                                   beside it are left alone
- `response_format` json_schema `checkpoint`     → closing: what the customer wants and what was promised
- any other tools                                → operating: the operations that fit what was declared
- any other json_schema                          → the smallest valid answer, enums chosen by the customer's words

The same request always gets the same answer. A word in the customer's latest message makes an unusual path visible:

    #leak            the first draft talks about its own machinery; the rewrite is clean
    #leak-always     every draft does
    #leak-name       the draft tells the name of an operation, where operating is offered beside speaking
    #leak-description  … its description
    #leak-data       … what it answered, word by word
    #leak-own        the draft tells a word that nothing in the request has
    #promise         the first draft offers a price and a discount far outside any table; the rewrite is clean
    #broken-closing  the first closing uses field names that do not exist; the corrected one is right
    #no-closing      no closing is ever valid
    #slow N          the speaking call answers after N seconds (default 5, at most 300)
    #error           the speaking call answers HTTP 500
    #silent          the model writes loose text and never calls send_message
    #person          the message says that a person is needed
    #promise-owner   the reply promises to come back, and no operation takes care of it

`[instruction] …` in a user or system message is a person's wish about the draft: the next draft follows it.
"""
