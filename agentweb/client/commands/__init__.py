"""The commands, one module a subject.

A subject is a module with ``add_commands(add)``, named in ``command_line.SUBJECTS``. It calls ``add`` once for each
command, with the name, a function and a sentence for the help, and gives the parser that it gets its arguments::

    def add_commands(add: Add) -> None:
        finding = add("find", _find, "Find actions across the sites that an index knows.")
        finding.add_argument("words", metavar="WORDS", nargs="+")


    def _find(agent: AgentClient, options: argparse.Namespace) -> Said:
        found = ...
        return [each.as_dict() for each in found], (line_of(each) for each in found)

The function answers with the document for ``--json`` (an iterator: one document after the other) and with the lines for
people; it raises AgentError for what is refused, and ``Waiting`` when a person has to do something first.
"""
