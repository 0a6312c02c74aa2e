# Private linear regression beside other tools: `./run --with competitors snakemake linear_tools`,
# and Opacus by `./run --with opacus snakemake linear_opacus`.
# In: config/tools.yaml. Out: results/tools/tools.md, tables and a figure.
rule tools_shares:
    output:
        about=f"{TOOLS_RESULTS}/benchmark/{{data_set}}.about.csv",
        shares=f"{TOOLS_RESULTS}/benchmark/{{data_set}}.shares.csv",
    log:
        f"{TOOLS_RESULTS}/logs/shares_{{data_set}}.log",
    wildcard_constraints:
        data_set="[a-z][a-z0-9_]*",
    conda:
        "../../envs/environment.yaml"
    params:
        **measurement("tools.benchmark", lock=TOOLS_LOCK),
        arguments=lambda wildcards: with_competitors(
            tools_arguments("benchmark", data_set=wildcards.data_set)
        ),
    message:
        "tools: private lines of {wildcards.data_set}"
    script:
        "../scripts/measure.py"


use rule tools_shares as tools_draws with:
    input:
        path=wine_table,
    output:
        f"{TOOLS_RESULTS}/comparison/{{method}}.csv",
    log:
        f"{TOOLS_RESULTS}/logs/draws_{{method}}.log",
    wildcard_constraints:
        method="(?!dp_sgd)[a-z_]+",
    params:
        **measurement("tools.comparison", lock=TOOLS_LOCK),
        arguments=lambda wildcards: with_competitors(
            tools_arguments("comparison", method=wildcards.method)
        ),
        # A file may be replaced by an older one.
        digest=lambda wildcards: digest_of(wine_table(wildcards)),
    message:
        "tools: lines by {wildcards.method}"


use rule tools_draws as tools_sgd with:
    output:
        SGD_DRAWS,
    log:
        f"{TOOLS_RESULTS}/logs/draws_dp_sgd.log",
    params:
        **measurement("tools.comparison", lock=lock_of("opacus")),
        arguments=lambda wildcards: with_packages(
            ["opacus"],
            "opacus",
            "linear_opacus --cores 1",
            tools_arguments("comparison", method="dp_sgd"),
        ),
        digest=lambda wildcards: digest_of(wine_table(wildcards)),
    message:
        "tools: lines by DP-SGD of Opacus"


rule linear_tools:
    input:
        about=tools_shares("about"),
        shares=tools_shares("shares"),
        comparison=tools_draws,
    output:
        **{name: f"{TOOLS_RESULTS}/{name}.csv" for name in TOOLS_TABLES},
        text=f"{TOOLS_RESULTS}/tools.md",
        pdf=f"{TOOLS_RESULTS}/tools.pdf",
        svg=f"{TOOLS_RESULTS}/tools.svg",
        png=f"{TOOLS_RESULTS}/tools.png",
    log:
        f"{TOOLS_RESULTS}/logs/tools.log",
    conda:
        "../../envs/environment.yaml"
    params:
        **measurement("tools.summary", "summarise.py", TOOLS_LOCK),
        arguments=lambda wildcards: {"besides": digest_if_made(SGD_DRAWS)},
    message:
        "tools: write the tables, the page and the figure"
    script:
        "../scripts/summarise.py"


rule linear_opacus:
    input:
        SGD_DRAWS,
    message:
        "tools: lines by DP-SGD are there, and linear_tools joins them to the others"
