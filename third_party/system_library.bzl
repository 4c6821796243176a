"""A repository over libraries that the operating system's packages installed."""

def _run(ctx, command):
    result = ctx.execute(command)
    return result.stdout.strip() if result.return_code == 0 else None

# As Bazel's own toolchain chooses it.
def _compiler(ctx):
    return ctx.os.environ.get("CC") or "gcc"

def _missing(ctx, what):
    fail("\n\n%s is not installed (%s). Install it with\n\n    sudo apt-get install %s\n\nor install everything with ./setup.sh\n" %
         (ctx.name, what, ctx.attr.package))

def _link_flags(ctx, target, source):
    if not source:
        return []
    if source.startswith("-"):
        arch = _run(ctx, _compiler(ctx).split(" ") + ["-print-multiarch"]) or "x86_64-linux-gnu"
        return source.replace("{lib}", "/usr/lib/" + arch).split(" ")
    flags = _run(ctx, ["pkg-config", "--libs", source])
    if flags == None:
        _missing(ctx, "pkg-config finds no " + source)
    return [flag for flag in flags.split(" ") if flag]

# Headers outside /usr/include, as attributes of a cc_library; they count as system
# headers all the same.
def _header_attributes(ctx, source):
    if not source or source.startswith("-"):
        return ""
    folders = []
    for flag in (_run(ctx, ["pkg-config", "--cflags-only-I", source]) or "").split(" "):
        # Nor below another one that is listed: reached through that.
        known = folders + ([] if ctx.attr.own_folders else ["/usr/include/"])
        if flag and not [f for f in known if flag[2:].startswith(f)]:
            folders.append(flag[2:])
    if not folders:
        return ""
    for folder in folders:
        ctx.symlink(folder, "include/" + folder.strip("/"))
    roots = ["include/" + folder.strip("/") for folder in folders]
    return """    hdrs = glob(["include/**/*.h"]),
    includes = %s,
""" % repr(roots)

def _system_library_repository_impl(ctx):
    if not ctx.which("pkg-config"):
        fail("\n\npkg-config is not installed. Install it with\n\n    sudo apt-get install pkg-config\n")
    module = [source for source in ctx.attr.targets.values() if source and not source.startswith("-")][:1]
    cflags = (_run(ctx, ["pkg-config", "--cflags"] + module) or "") if module else ""
    probe = ctx.execute(["sh", "-c", "echo '#include <%s>' | %s -std=c++20 %s -xc++ -M - >/dev/null" % (ctx.attr.header, _compiler(ctx), cflags)])
    if probe.return_code != 0:
        _missing(ctx, "no header <%s>" % ctx.attr.header)
    folders = {"": []}
    for label, source in ctx.attr.targets.items():
        folder, name = label.split(":")
        rule = """cc_library(
    name = "%s",
%s    linkopts = %s,
    visibility = ["//visibility:public"],
)
""" % (name, _header_attributes(ctx, source), repr(_link_flags(ctx, label, source)))
        folders.setdefault(folder, []).append(rule)
    for program in ctx.attr.programs:
        path = ctx.which(program)
        if path == None:
            _missing(ctx, "no program " + program)
        ctx.symlink(path, "bin/" + program)
        folders[""].append("""filegroup(
    name = "%s",
    srcs = ["bin/%s"],
    visibility = ["//visibility:public"],
)
""" % (program, program))
    for folder, rules in folders.items():
        ctx.file((folder + "/" if folder else "") + "BUILD.bazel", "\n".join(rules))

# Headers are found by the compiler in its system folders or through -isystem, hence outside
# -Werror's reach.
system_library_repository = repository_rule(
    implementation = _system_library_repository_impl,
    attrs = {
        "package": attr.string(mandatory = True, doc = "Debian package(s), as apt-get install takes them"),
        "header": attr.string(mandatory = True, doc = "a header whose presence proves the installation"),
        "targets": attr.string_dict(mandatory = True, doc = "label -> pkg-config module, or link flags, or nothing"),
        "own_folders": attr.bool(doc = "its headers are included without the name of their folder below /usr/include"),
        "programs": attr.string_list(doc = "programs of the package that actions run, each a target of its name"),
    },
    local = True,
    environ = ["CC", "PKG_CONFIG_PATH"],
)
