"""driftwise study: a live study from the shell. This file is the list of its commands."""

from __future__ import annotations

from driftwise.cli.failure import group
from driftwise.cli.options import NEGATIVE
from driftwise.cli.ordered import Ordered
from driftwise.cli.study_create import create, fork
from driftwise.cli.study_export import export
from driftwise.cli.study_files import check, copy, delete, list_studies, rename
from driftwise.cli.study_import import import_log
from driftwise.cli.study_look import changes, predict, recommend
from driftwise.cli.study_show import show_study
from driftwise.cli.study_tell import abandon, ask, correct, corrections, fail, observe, retract, tell

app = group(
    """Tune something of your own: ask for a setting to try, then tell the reward that it gave.

    A study lives in a file, or behind `driftwise serve`. Give the file or the address with --path or in the environment
    variable DRIFTWISE_PATH; otherwise it is driftwise.db. No reward that was stored is ever lost, and several programs
    may use it at the same time.

    [bold]Example[/bold]

      driftwise study create prices --float price=5:20

      driftwise study ask prices

      driftwise study tell prices ID 12.3

      driftwise study recommend prices
    """
)


TUNE, LOOK, LOG, FILES = "Tune", "Look", "The log", "Studies and files"  # the panels of the help

app.command(cls=Ordered, rich_help_panel=TUNE)(create)
app.command(rich_help_panel=TUNE)(ask)
app.command(context_settings=NEGATIVE, rich_help_panel=TUNE)(tell)
app.command(rich_help_panel=TUNE)(fail)
app.command(context_settings=NEGATIVE, rich_help_panel=TUNE)(observe)
app.command(rich_help_panel=TUNE)(abandon)

app.command(rich_help_panel=LOOK)(recommend)
app.command(rich_help_panel=LOOK)(predict)
app.command("show", rich_help_panel=LOOK)(show_study)
app.command(rich_help_panel=LOOK)(changes)

app.command(context_settings=NEGATIVE, rich_help_panel=LOG)(correct)
app.command(rich_help_panel=LOG)(retract)
app.command(rich_help_panel=LOG)(corrections)
app.command("import", rich_help_panel=LOG)(import_log)
app.command(rich_help_panel=LOG)(export)

app.command("list", rich_help_panel=FILES)(list_studies)
app.command(cls=Ordered, rich_help_panel=FILES)(fork)
app.command(rich_help_panel=FILES)(copy)
app.command(rich_help_panel=FILES)(rename)
app.command(rich_help_panel=FILES)(delete)
app.command(rich_help_panel=FILES)(check)
