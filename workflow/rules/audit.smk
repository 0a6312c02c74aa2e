# The audit, `snakemake audit`: realised beside stated privacy losses.
# In: config/audit.yaml. Out: results/audit/audit.csv, neighbours.csv, sensitivity.csv,
# black_box.csv, draw_times.csv, release_times.csv, audit.pdf, .svg, .png and .html.
rule audit_sensitivity:
    output:
        f"{AUDIT_RESULTS}/sensitivity.csv",
    log:
        f"{AUDIT_RESULTS}/logs/sensitivity.log",
    conda:
        "../../envs/environment.yaml"
    params:
        **measurement("audit.sensitivity"),
        arguments=lambda wildcards: {"settings": part_of("audit", "seed", "sphere")},
    message:
        "audit: search how far one record moves a gradient"
    script:
        "../scripts/measure.py"


use rule audit_sensitivity as audit_losses with:
    output:
        losses=f"{AUDIT_RESULTS}/parts/losses_n{{n}}.csv",
        neighbours=f"{AUDIT_RESULTS}/parts/neighbours_n{{n}}.csv",
    log:
        f"{AUDIT_RESULTS}/logs/losses_n{{n}}.log",
    wildcard_constraints:
        n=r"\d+",
    # The longest jobs start first.
    priority: 1
    params:
        **measurement("audit.losses"),
        arguments=lambda wildcards: {
            "settings": part_of("audit", "seed", "sphere", "two_points"),
            "number": int(wildcards.n),
            "budgets": audit_budgets(int(wildcards.n)),
        },
    message:
        "audit: search for large privacy losses, n = {wildcards.n}"


use rule audit_sensitivity as audit_black_box with:
    input:
        rats=shipped("resources/vilmann_rats.csv"),
    output:
        f"{AUDIT_RESULTS}/parts/black_box.csv",
    log:
        f"{AUDIT_RESULTS}/logs/black_box.log",
    params:
        **measurement("audit.black_box"),
        arguments=lambda wildcards: {"settings": part_of("audit", "seed", "black_box")},
    message:
        "audit: bound budgets from draws alone"


use rule audit_sensitivity as audit_releases with:
    output:
        f"{AUDIT_RESULTS}/parts/releases_{{space}}.csv",
    log:
        f"{AUDIT_RESULTS}/logs/releases_{{space}}.log",
    wildcard_constraints:
        space="sphere|spd",
    priority: 2
    params:
        **measurement("audit.releases"),
        arguments=lambda wildcards: {
            "settings": part_of("audit", "seed", "releases"),
            "space": wildcards.space,
        },
    message:
        "audit: test whole releases by their draws, space {wildcards.space}"


use rule audit_sensitivity as audit_times with:
    output:
        draws=f"{AUDIT_RESULTS}/draw_times.csv",
        releases=f"{AUDIT_RESULTS}/release_times.csv",
    log:
        f"{AUDIT_RESULTS}/logs/times.log",
    params:
        **measurement("audit.times"),
        arguments=lambda wildcards: {"settings": part_of("audit", "seed", "times")},
    message:
        "audit: time releases with extreme records, and draws of noise"


rule audit:
    input:
        draw_times=f"{AUDIT_RESULTS}/draw_times.csv",
        release_times=f"{AUDIT_RESULTS}/release_times.csv",
        losses=audit_parts("losses"),
        neighbours=audit_parts("neighbours"),
        sensitivity=f"{AUDIT_RESULTS}/sensitivity.csv",
        black_box=[
            f"{AUDIT_RESULTS}/parts/{part}.csv"
            for part in ("black_box", "releases_sphere", "releases_spd")
        ],
        template=shipped("workflow/report/audit.html.j2"),
    output:
        csv=f"{AUDIT_RESULTS}/audit.csv",
        neighbours=f"{AUDIT_RESULTS}/neighbours.csv",
        black_box=f"{AUDIT_RESULTS}/black_box.csv",
        page=f"{AUDIT_RESULTS}/audit.html",
        pdf=f"{AUDIT_RESULTS}/audit.pdf",
        svg=f"{AUDIT_RESULTS}/audit.svg",
        png=f"{AUDIT_RESULTS}/audit.png",
    log:
        f"{AUDIT_RESULTS}/logs/audit.log",
    conda:
        "../../envs/environment.yaml"
    params:
        **measurement("audit.summary", "summarise.py"),
        arguments=lambda wildcards: {
            "settings": part_of("audit", "sphere"),
            "replay": with_digests(REPLAY_SHOWN),
        },
    message:
        "audit: write the tables, the figure and the page"
    script:
        "../scripts/summarise.py"


# Record and replay, `snakemake replay`: 10^5 pairs of neighbours take some 40 minutes on two cores, so
# that the audit does not wait for them; its page shows what is there.
# Out: results/audit/replay.csv, planted.csv.
use rule audit_sensitivity as replay_block with:
    output:
        f"{AUDIT_RESULTS}/parts/replay_{{block}}.csv",
    log:
        f"{AUDIT_RESULTS}/logs/replay_{{block}}.log",
    wildcard_constraints:
        block=r"\d+",
    params:
        **measurement("audit.replay"),
        arguments=lambda wildcards: {
            "settings": part_of("audit", "seed", "replay"),
            "block": int(wildcards.block),
        },
    message:
        "replay: whole releases of neighbouring tables, block {wildcards.block}"


use rule audit_sensitivity as replay_planted with:
    output:
        f"{AUDIT_RESULTS}/planted.csv",
    log:
        f"{AUDIT_RESULTS}/logs/planted.log",
    params:
        **measurement("audit.planted"),
        arguments=lambda wildcards: {"settings": part_of("audit", "seed", "replay")},
    message:
        "replay: look for mistakes that are planted"


use rule audit_sensitivity as replay with:
    input:
        blocks=lambda wildcards: [
            f"{AUDIT_RESULTS}/parts/replay_{block}.csv"
            for block in range(settings_of("audit")["replay"]["blocks"])
        ],
        planted=f"{AUDIT_RESULTS}/planted.csv",
    output:
        f"{AUDIT_RESULTS}/replay.csv",
    log:
        f"{AUDIT_RESULTS}/logs/replay.log",
    params:
        **measurement("audit.replayed"),
        arguments={},
    message:
        "replay: write the table"
