# A private release, `snakemake release --configfile FILE`, as `geodp release FILE` makes it.
# In: the settings of a release, such as config/release.example.yaml. Out: the folder that they name.
# The folder is no output, since Snakemake deletes outputs before a job and after a failed one; the
# ledger of the release knows whether it was made. Nothing of the data is in the log.
if RELEASE is not None:

    rule release:
        log:
            f"{RESULTS}/logs/release.log",
        # From the checkout and not from here, as the default target inherits this rule.
        conda:
            str(CHECKOUT / "envs" / "environment.yaml")
        params:
            study=config["name"],
            settings=RELEASE,
        message:
            "release: draw it, unless its ledger has it already"
        script:
            str(CHECKOUT / "workflow" / "scripts" / "release.py")

else:

    rule release:
        log:
            f"{RESULTS}/logs/release.log",
        conda:
            "../../envs/environment.yaml"
        message:
            "release: look for its settings"
        shell:
            "echo 'Error: no release is described: give its settings with --configfile, such as"
            " config/release.example.yaml' | tee {log} >&2; exit 1"
