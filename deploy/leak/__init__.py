"""`chancela leak measure`: how often a model tells customers about the machine, with the gate disarmed.

Three arms run the same scenarios, each as often, against the same endpoint:

    arm         prompt         tools                     results and state
    attendance  speaking role  speaking role             projected: what customers are served with
    hybrid      speaking role  both roles                raw: one context that serves two readers
    operator    operating role both roles                raw, and it is told to answer the customer too

Prompts, tools, projections and operations are those of the services. What goes out is what `send_message` sends; it is
judged by the detector of gate 9, and each find by the door through which its words came in.
"""
