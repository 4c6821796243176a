#include "data/files/folder_listing.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "tensor/errors.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;

struct Entries {
  std::vector<std::string> folders, files;
  bool links = false;  // among them
};

absl::StatusOr<Entries> List(const std::string& folder) {
  DTNN_RETURN_IF_ERROR(CheckFolder(folder));
  Entries entries;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::string name = at->path().filename().string();
    if (IsHiddenName(name)) continue;
    std::error_code ignored;  // what cannot be examined is not a folder: reading it will say why
    entries.links = entries.links || at->is_symlink(ignored);
    (at->is_directory(ignored) ? entries.folders : entries.files).push_back(std::move(name));
  }
  if (error) {
    return absl::ErrnoToStatus(error.value(), StrCat(folder, ": cannot be listed"));
  }
  std::ranges::sort(entries.folders);
  std::ranges::sort(entries.files);
  return entries;
}

class Walk {
 public:
  absl::Status Into(const std::string& folder, const std::string& prefix) {
    struct stat info = {};
    if (stat(folder.c_str(), &info) != 0) {
      return absl::ErrnoToStatus(errno, StrCat(folder, ": cannot be accessed"));
    }
    if (!walked_.emplace(info.st_dev, info.st_ino).second) return absl::OkStatus();
    DTNN_ASSIGN_OR_RETURN(const Entries entries, List(folder));
    links_ = links_ || entries.links;
    for (const std::string& name : entries.files) files_.push_back(prefix + name);
    for (const std::string& name : entries.folders) {
      DTNN_RETURN_IF_ERROR(Into(StrCat(folder, "/", name), StrCat(prefix, name, "/")));
    }
    return absl::OkStatus();
  }

  bool links() const { return links_; }
  std::vector<std::string> TakeFiles() {
    std::ranges::sort(files_);
    return std::move(files_);
  }

 private:
  std::set<std::pair<dev_t, ino_t>> walked_;
  std::vector<std::string> files_;
  bool links_ = false;
};

}  // namespace

bool IsHiddenName(std::string_view name) { return name.starts_with('.') || name == "__MACOSX"; }

absl::StatusOr<PathKind> LookAt(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return PathKind::kNothing;
  if (error) {
    return absl::ErrnoToStatus(error.value(), StrCat(path, ": cannot be accessed"));
  }
  return fs::is_directory(status) ? PathKind::kFolder : PathKind::kFile;
}

absl::Status CheckFolder(const std::string& path) {
  DTNN_ASSIGN_OR_RETURN(const PathKind kind, LookAt(path));
  if (kind == PathKind::kFolder) return absl::OkStatus();
  if (kind == PathKind::kFile) {
    return InvalidArgument(path, ": is not a folder");
  }
  return NotFound(path, ": no such folder");
}

absl::StatusOr<std::vector<std::string>> FoldersIn(const std::string& folder) {
  DTNN_ASSIGN_OR_RETURN(Entries entries, List(folder));
  return std::move(entries.folders);
}

absl::StatusOr<std::vector<std::string>> FilesIn(const std::string& folder) {
  DTNN_ASSIGN_OR_RETURN(Entries entries, List(folder));
  return std::move(entries.files);
}

absl::StatusOr<std::vector<std::string>> FilesBelow(const std::string& folder, bool* links) {
  Walk walk;
  DTNN_RETURN_IF_ERROR(walk.Into(folder, ""));
  std::error_code ignored;
  if (links != nullptr && (walk.links() || fs::is_symlink(folder, ignored))) *links = true;
  return walk.TakeFiles();
}

}  // namespace dtnn
