"""link_only: what deps link, with other headers or none."""

def _link_only_impl(ctx):
    linked = cc_common.merge_cc_infos(cc_infos = [d[CcInfo] for d in ctx.attr.deps])
    seen = cc_common.merge_cc_infos(cc_infos = [d[CcInfo] for d in ctx.attr.headers])
    runfiles = ctx.runfiles()
    for dep in ctx.attr.deps + ctx.attr.headers:
        runfiles = runfiles.merge(dep[DefaultInfo].default_runfiles)
    return [
        cc_common.merge_cc_infos(
            direct_cc_infos = [CcInfo(linking_context = linked.linking_context)],
            cc_infos = [seen],
        ),
        DefaultInfo(runfiles = runfiles),
    ]

# For libraries that register themselves, and for those of which a build takes one or another: the
# targets that link them compile alike with all of them.
link_only = rule(
    implementation = _link_only_impl,
    attrs = {
        "deps": attr.label_list(providers = [CcInfo]),
        "headers": attr.label_list(providers = [CcInfo]),
    },
)
