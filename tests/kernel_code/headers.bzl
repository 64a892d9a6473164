"""headers: the project's own headers of cc_library rules and of what they depend on, as files."""

def _headers_impl(ctx):
    headers = depset(transitive = [d[CcInfo].compilation_context.headers for d in ctx.attr.deps])
    own = [h for h in headers.to_list() if h.owner.workspace_name == "" and h.is_source]
    return [DefaultInfo(files = depset(own), runfiles = ctx.runfiles(files = own))]

headers = rule(
    implementation = _headers_impl,
    attrs = {"deps": attr.label_list(providers = [CcInfo])},
)
