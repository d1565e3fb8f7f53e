"""The results of a run as a table."""
import statistics


def markdown(results: list[dict], backends: list[str],
             frits: set[str]) -> str:
    """Markdown: a line per row. Times are milliseconds; `ratio` is the best
    peer's by frit's, `of floor` the roofline's by frit's."""
    lines = ["| row | " + " | ".join(backends)
             + " | ratio | floor | of floor | error | best peer's error"
             " | kernels + calls | arena / bound MiB"
             " | device / peak MiB | eager's peak"
             " | compile s | first output s | eager's |",
             "|---" * (len(backends) + 13) + "|"]
    ratios = []
    rows = (r["row"] for r in results if "row" in r)
    for row in dict.fromkeys(rows):
        of = {r["backend"]: r for r in results if r.get("row") == row}
        frit, eager = of.get("frit", {}), of.get("eager", {})
        floor = of.get("floor", {}).get("ms")
        times = (of[b].get("ms", "failed" if "failed" in of[b] else "–")
                 for b in backends)
        timed = [of[b] for b in backends
                 if b not in frits and "ms" in of[b]]
        best = min(timed, key=lambda r: r["ms"], default={})
        ratio = of_floor = "–"
        if "ms" in frit:
            if best:
                ratios.append(best["ms"] / frit["ms"])
                ratio = f"{ratios[-1]:.2f}"
            if floor:
                of_floor = f"{floor / frit['ms']:.0%}"
        error = frit.get("error", "–")
        if not frit.get("pass", True):
            error = f"{error} **over the limit**"
        cells = (row, *times, ratio, floor or "–", of_floor, error,
                 best.get("error", "–"),
                 f"{frit.get('kernels', '–')} + "
                 f"{frit.get('library_calls', '–')}",
                 f"{frit.get('arena_MiB', '–')} / "
                 f"{frit.get('arena_bound_MiB', '–')}",
                 f"{frit.get('device_MiB', '–')} / "
                 f"{frit.get('device_peak_MiB', '–')}",
                 eager.get("device_peak_MiB", "–"),
                 frit.get("compile_s", "–"),
                 frit.get("first_output_s", "–"),
                 eager.get("first_output_s", "–"))
        lines.append(f"| {' | '.join(map(str, cells))} |")
    if ratios:
        mean = statistics.geometric_mean(ratios)
        lines.append(f"\nGeometric mean of {len(ratios)} ratios: "
                     f"{mean:.2f}")
    return "\n".join(lines)
