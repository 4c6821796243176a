#include "apps/program/program_command.h"

#include <system_error>

#include "absl/strings/str_replace.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBazel = "bazel run ";

bool IsBuilt(const fs::path& executable) {
  return executable.string().find("/bazel-out/") != std::string::npos;
}

bool IsPackaged(const fs::path& executable) {
  std::error_code ignored;
  return fs::is_regular_file(executable.parent_path().parent_path() / "programs", ignored);
}

fs::path ThisExecutable() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored);
}

}  // namespace

std::string ProgramCommand(std::string_view program, const fs::path& executable) {
  if (IsBuilt(executable)) return StrCat(kBazel, "//apps:", program, " --");
  return StrCat(IsPackaged(executable) ? "dtnn " : "", program);
}

std::string ProgramCommand(std::string_view program) {
  return ProgramCommand(program, ThisExecutable());
}

std::string DocumentsFolder(const fs::path& executable) {
  if (!IsBuilt(executable)) {
    if (IsPackaged(executable)) return "/usr/share/doc/dtnn/docs/";
    const fs::path prefix = executable.parent_path().parent_path();
    const std::string folder = (prefix / "share/doc/dtnn/docs/").string();
    std::error_code ignored;
    if (fs::is_directory(folder, ignored)) return folder;
  }
  return "docs/";
}

std::string DocumentsFolder() { return DocumentsFolder(ThisExecutable()); }

std::string NamingDocuments(std::string_view text) {
  return absl::StrReplaceAll(absl::string_view(text.data(), text.size()),
                             {{"docs/", DocumentsFolder()}});
}

std::string InstalledCommand(std::string_view program) {
  std::string command = ProgramCommand(program);
  return command.starts_with(kBazel) ? std::string(program) : command;
}

}  // namespace dtnn
