#include "apps/program/program_command.h"

#include <system_error>

#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBazel = "bazel run ";

}  // namespace

std::string ProgramCommand(std::string_view program, const fs::path& executable) {
  if (executable.string().find("/bazel-out/") != std::string::npos) {
    return StrCat(kBazel, "//apps:", program, " --");
  }
  std::error_code ignored;
  const fs::path list = executable.parent_path().parent_path() / "programs";
  return StrCat(fs::is_regular_file(list, ignored) ? "dtnn " : "", program);
}

std::string ProgramCommand(std::string_view program) {
  std::error_code ignored;
  return ProgramCommand(program, fs::read_symlink("/proc/self/exe", ignored));
}

std::string InstalledCommand(std::string_view program) {
  std::string command = ProgramCommand(program);
  return command.starts_with(kBazel) ? std::string(program) : command;
}

}  // namespace dtnn
