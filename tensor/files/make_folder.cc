#include "tensor/files/make_folder.h"

#include <filesystem>
#include <system_error>

#include "tensor/errors.h"

namespace dtnn {

absl::Status MakeFolder(std::string_view folder, std::string_view words) {
  namespace fs = std::filesystem;
  std::error_code error, ignored;
  fs::create_directory(folder, error);
  if (!error) return absl::OkStatus();
  const absl::Status status = absl::ErrnoToStatus(error.value(), StrCat(words));
  while (folder.ends_with('/')) folder.remove_suffix(1);
  const fs::path parent = fs::path(folder).parent_path();
  if (parent.empty() || fs::status(parent, ignored).type() != fs::file_type::not_found) {
    return status;
  }
  return absl::Status(status.code(), StrCat(status.message(), "; make ", parent.string(),
                                            " first, or correct the path"));
}

}  // namespace dtnn
