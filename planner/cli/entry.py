"""The entry point: which commands there are, and what becomes of an error."""

from __future__ import annotations

import errno
import gc
import importlib
import io
import os
import re
import sys
from collections.abc import Sequence
from typing import Any

import click

from planner.cli.given_once import check_given_once
from planner.cli.options import Settings, catalogue_option
from planner.errors import PlannerError, shorten, without_credentials

DEBUG_ENVIRONMENT = "PLANNER_DEBUG"
INTERNAL_ERROR = 1
USAGE_ERROR = 2
INTERRUPTED = 130
BROKEN_PIPE = 141
"""128 + SIGPIPE, as for any program whose reader went away."""

LONG_WORD = re.compile(r"(\S{60})\S{180,}(\S{20})")
"""A word that is cut short in a message; no path that people use is as long."""

COMMANDS = (
    "fit",
    "predict",
    "simulate",
    "compare",
    "breakeven",
    "frontier",
    "plan",
    "launch",
    "sweep",
    "train",
    "models",
    "gpus",
    "prices",
    "validate",
    "verify",
    "calibrate",
    "import",
    "measure",
    "ui",
    "mcp",
    "completion",
)
"""Each stands in the module of its name and is imported when it is asked for."""

MODULES = {"import": "import_"}
"""Modules of commands whose names are words of the language."""


class LazyGroup(click.Group):
    """A group whose commands are modules of this package."""

    def main(
        self, args: Sequence[str] | None = None, *_: Any, standalone_mode: bool = True, **__: Any
    ) -> Any:
        """Run one command line and leave with its exit code; an error is one line."""
        code = run(args)
        if standalone_mode:
            gc.freeze()  # the interpreter would look for rings among all that is left before it ends
            sys.exit(code)
        return code

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which help shows them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command."""
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"planner.cli.{MODULES.get(cmd_name, cmd_name)}").command
        assert isinstance(command, click.Command)
        if ctx.resilient_parsing:  # a shell asks how a word may go on
            from planner.cli.completion import complete_names

            complete_names(command)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; click itself would turn a reader that went away into an internal error."""
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            _silence()
            return BROKEN_PIPE
        return code

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or name the nearest ones."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0].lower(), COMMANDS)
            hint = f"nearest: {', '.join(near)}" if near else f"there are {', '.join(COMMANDS)}"
            raise click.UsageError(f"no command {shorten(args[0])}; {hint}", ctx)
        name, command, words = super().resolve_command(ctx, args)
        if command is not None:
            check_given_once(command, words)
        return name, command, words


def _print_version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        import planner
        from planner.measurement.own_file import own_catalogue

        book = own_catalogue()
        levels = book.calibrated("calibration")
        made = f"calibrated {levels[0].date}" if levels else "not calibrated"
        click.echo(f"planner {planner.__version__}, catalogue {book.short_digest}, {made}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 96})
@catalogue_option
@click.option(
    "--debug", is_flag=True, help=f"Show the traceback of an internal error (or {DEBUG_ENVIRONMENT}=1)."
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version, the digest of the catalogue and the date of its calibration.",
)
@click.pass_context
def cli(ctx: click.Context, debug: bool) -> None:
    """Size the serving of large language models: does it fit, on how many GPUs, how fast, at what cost.

    \b
    Examples:
      planner fit --model kimi-k3 --gpu mi355x,b200,b300
      planner predict --model kimi-k3 --gpu mi355x,b300 --isl 1k --osl 400 --concurrency 32
      planner compare --model kimi-k3 --isl 1024 --osl 400 --price mi355x=2.50,b200=4.25,b300=6.00
      planner plan --model llama-3.3-70b --gpu h100,b200 --rate 20 --peak-factor 3 \\
        --isl 2k --osl 300 --slo-ttft 2s --slo-tpot 50ms --price-kind on-demand
      planner prices own h200
      planner models qwen3
      planner --catalogue ours.yaml fit --model our-model --gpu h200

    Exit codes: 0 yes, 1 internal error, 2 wrong usage or catalogue, 3 does not fit, 4 nothing keeps the
    limits, 5 a report differs.
    """
    ctx.ensure_object(Settings).debug = debug


def _start_fast() -> None:
    """Skip what costs a short process time: the search for plug-ins of pydantic, and collecting garbage."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    gc.set_threshold(100_000, 50, 50)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after `planner`; those of the process by default.

    Returns
    -------
    int
        The exit code.
    """
    _start_fast()
    settings = Settings()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a sign gets a question mark, and not a traceback.
            stream.reconfigure(errors="replace")
    if sys.stdout is None:
        sys.stdout = _ClosedOutput()
    try:
        code = click.Group.main(cli, args=arguments, prog_name="planner", standalone_mode=False, obj=settings)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return USAGE_ERROR
    except click.ClickException as error:
        return _complain(_usage_line(error), USAGE_ERROR)
    except PlannerError as error:
        return _complain(str(error), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        return _complain("interrupted", INTERRUPTED)
    except BrokenPipeError:
        _silence()
        return BROKEN_PIPE
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None:
            _silence()
            return _complain(f"the answer cannot be written: {error.strerror or error}", USAGE_ERROR)
        if settings.debug or os.environ.get(DEBUG_ENVIRONMENT):
            raise
        from planner.distribution import covered_by

        if covered := covered_by():
            return _complain(covered, USAGE_ERROR)
        line = f"internal error: {type(error).__name__}: {error}"
        return _complain(f"{line}; --debug shows where", INTERNAL_ERROR)
    return code if isinstance(code, int) else 0


class _ClosedOutput(io.StringIO):
    """Stands for a standard output that the caller closed."""

    def write(self, _: str) -> int:
        """Refuse, as a file that is closed does."""
        raise OSError(errno.EBADF, "standard output is closed; --out FILE writes to a file")


def _silence() -> None:
    """Send what Python flushes at exit nowhere: nothing more can be written."""
    if not isinstance(sys.stdout, _ClosedOutput):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage_line(error: click.ClickException) -> str:
    """Put a usage error into one line that names the option."""
    if isinstance(error, click.NoSuchOption):
        near = f"; nearest: {', '.join(error.possibilities)}" if error.possibilities else ""
        return f"no option {error.option_name}{near}"
    if isinstance(error, click.MissingParameter) and error.param is not None:
        return f"{_option_name(error.param)} is missing"
    if isinstance(error, click.BadParameter) and error.param is not None:
        return f"{_option_name(error.param)}: {error.message.removesuffix('.')}"
    return error.format_message().removesuffix(".")


def _option_name(parameter: click.Parameter) -> str:
    if isinstance(parameter, click.Option):
        return max(parameter.opts, key=len)
    return parameter.make_metavar(click.Context(cli)).strip("[]")


def _complain(line: str, code: int) -> int:
    shown = without_credentials(line).split()
    words = (LONG_WORD.sub(lambda word: f"{word[1]}...{word[2]}", word) for word in shown)
    click.echo(f"planner: {' '.join(words)}", err=True)
    return code
