#include "apps/program/program_command.h"

#include <system_error>

#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBazel = "bazel run ";

bool Exists(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

}  // namespace

std::string ProgramCommand(std::string_view program, const fs::path& executable,
                           const fs::path& dtnn) {
  if (executable.string().find("/bazel-out/") != std::string::npos) {
    return StrCat(kBazel, "//apps:", program, " --");
  }
  const fs::path folder = executable.parent_path();
  const bool packaged = folder.string().ends_with("/lib/dtnn/bin");
  const bool installed = !packaged && Exists(folder / program);
  const bool by_dtnn = packaged || (!installed && Exists(dtnn));
  return StrCat(by_dtnn ? "dtnn " : "", program);
}

std::string ProgramCommand(std::string_view program) {
  std::error_code ignored;
  return ProgramCommand(program, fs::read_symlink("/proc/self/exe", ignored), "/usr/bin/dtnn");
}

std::string InstalledCommand(std::string_view program) {
  std::string command = ProgramCommand(program);
  return command.starts_with(kBazel) ? std::string(program) : command;
}

}  // namespace dtnn
