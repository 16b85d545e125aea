"""The program without and with what it needs."""

from __future__ import annotations

import subprocess
import sys


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_without_the_lab_extra_the_program_says_what_to_install() -> None:
    done = run("import sys; sys.modules['typer'] = None; from mshgnn.__main__ import main; main()")
    assert done.returncode == 2
    assert done.stderr.strip() == "mshgnn: the command line needs typer: pip install 'mshgnn[lab]'"


def test_what_a_command_alone_needs_is_said_too() -> None:
    """Some of the extra may be there without the rest: typer comes with other programs."""
    code = "import sys; sys.argv = ['mshgnn', 'data', 'list']; sys.modules['platformdirs'] = None; "
    done = run(code + "from mshgnn.__main__ import main; main()")
    assert done.returncode == 2
    assert done.stderr.strip() == "mshgnn: the command line needs platformdirs: pip install 'mshgnn[lab]'"


def test_a_module_of_our_own_that_is_missing_is_a_bug() -> None:
    code = "import sys; sys.argv = ['mshgnn', 'data', 'list']; sys.modules['mshgnn.data'] = None; "
    done = run(code + "from mshgnn.__main__ import main; main()")
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_the_layer_library_needs_no_lab_package() -> None:
    lab = ("typer", "rich", "pydantic", "sklearn", "matplotlib", "yaml", "platformdirs", "filelock")
    hidden = "".join(f"sys.modules[{name!r}] = None; " for name in lab)
    done = run(
        f"import sys; {hidden}import mshgnn.nn, mshgnn.ops, mshgnn.testing, mshgnn.models; print(mshgnn.__version__)"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_the_program_lists_its_commands() -> None:
    done = run("import sys; sys.argv = ['mshgnn', '--help']; from mshgnn.__main__ import main; main()")
    assert done.returncode == 0
    for command in ("run", "show", "data", "bench", "ceiling", "demo", "tables", "models"):
        assert command in done.stdout


def test_only_a_users_mistake_is_one_line_and_a_bug_keeps_its_traceback() -> None:
    """numpy and torch raise ValueError too: shown as the user's mistake, a bug would have no trace."""
    fail = "import sys; from mshgnn import cli; from mshgnn.errors import UserError; "
    fail += (
        "cli.app.command('fail')(lambda: (_ for _ in ()).throw({}('odd'))); sys.argv = ['mshgnn', 'fail']; cli.main()"
    )
    mistake, bug = run(fail.format("UserError")), run(fail.format("ValueError"))
    assert (mistake.returncode, mistake.stderr) == (2, "mshgnn: odd\n")
    assert bug.returncode == 1
    assert "Traceback" in bug.stderr


def test_the_layer_and_the_model_are_at_the_top_and_cost_nothing_until_asked_for() -> None:
    done = run(
        "import sys, mshgnn; assert 'torch' not in sys.modules; "
        "print(mshgnn.MSHConv.__name__, mshgnn.MSHGNN.__name__); assert not hasattr(mshgnn, 'MSHCnov')"
    )
    assert (done.returncode, done.stdout) == (0, "MSHConv MSHGNN\n"), done.stderr


def test_help_and_version_do_not_wait_for_torch() -> None:
    for flag in ("--help", "--version"):
        code = f"import sys; sys.argv = ['mshgnn', '{flag}']; from mshgnn import cli\ntry: cli.main()\n"
        done = run(code + "except SystemExit: print('torch' in sys.modules)")
        assert done.stdout.endswith("False\n"), done.stdout + done.stderr
