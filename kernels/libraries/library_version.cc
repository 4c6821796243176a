#include "kernels/libraries/library_version.h"

#include "absl/strings/str_cat.h"

namespace dtnn {

std::string LibraryVersion::ToString() const { return absl::StrCat(major, ".", minor, ".", patch); }

absl::Status CheckLibraryVersion(std::string_view library, const LibraryVersion& found,
                                 const LibraryVersion& built_for) {
  if (found.major == built_for.major && found >= built_for) return absl::OkStatus();
  const std::string name(library);
  return absl::FailedPreconditionError(
      absl::StrCat("found version ", found.ToString(), " of ", name, ", and this program needs ",
                   built_for.ToString(), " or a newer one of ", name, " ", built_for.major,
                   "; install it, or build with the one that is there"));
}

}  // namespace dtnn
