"""Are versions installed that a published advisory names: run it with the interpreter of the environment.

Where the advisories cannot be reached it says so and leaves with 0, since a change did not cause that.
"""

import json
import subprocess
import sys

LIMIT_S = 120


def main() -> int:
    """Return 1 where a version with a known weakness is installed."""
    words = [sys.executable, "-m", "pip_audit", "--format", "json", "--progress-spinner", "off"]
    try:
        ran = subprocess.run(
            [*words, "--skip-editable", "--timeout", "20"], capture_output=True, text=True, timeout=LIMIT_S
        )
        found = json.loads(ran.stdout)["dependencies"]
    except subprocess.TimeoutExpired:
        print(f"not audited: the advisories did not answer within {LIMIT_S} s")
        return 0
    except (ValueError, KeyError):
        reason = (ran.stderr.strip().splitlines() or ["no answer"])[-1][:200]
        print(f"not audited: the advisories cannot be reached: {reason}")
        return 0
    weak = [
        f"{one['name']} {one['version']}: {flaw['id']}, mended in {', '.join(flaw['fix_versions']) or 'none'}"
        for one in found
        for flaw in one.get("vulns", ())
    ]
    print("\n".join(weak) or f"{len(found)} distributions, none named by an advisory")
    return 1 if weak else 0


if __name__ == "__main__":
    sys.exit(main())
