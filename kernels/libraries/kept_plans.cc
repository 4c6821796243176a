#include "kernels/libraries/kept_plans.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <vector>

#include "absl/strings/ascii.h"
#include "tensor/errors.h"
#include "tensor/files/access/private_file.h"
#include "tensor/files/atomic_file.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

// Bytes of a name, which file systems end at 255.
constexpr size_t kMostName = 240;

// The first line of a file.
std::string HeaderOf(std::string_view key, int revision) {
  return StrCat("# plan ", revision, " of ", key, "\n");
}

}  // namespace

absl::StatusOr<std::unique_ptr<KeptPlans>> KeptPlans::Open(
    std::string_view folder, std::function<void(std::string_view)> warn) {
  std::unique_ptr<KeptPlans> plans(new KeptPlans(folder, std::move(warn)));
  // Whatever the umask.
  if (mkdir(plans->folder_.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return absl::ErrnoToStatus(errno, StrCat(folder, ": cannot be made"));
  }
  DTNN_RETURN_IF_ERROR(CheckPrivateFolder(folder));
  // It vanishes again.
  DTNN_RETURN_IF_ERROR(AtomicFile::CreatePrivate(StrCat(folder, "/probe")).status());
  return plans;
}

absl::StatusOr<std::string> KeptPlans::PathOf(std::string_view key) const {
  std::string name(key);
  for (char& c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.') c = '-';
  }
  if (name.empty() || name.size() > kMostName || key.find('\n') != key.npos) {
    return InvalidArgument("the key of a plan has ", key.size(), " characters, expected 1 to ",
                           kMostName, " of one line: ", key);
  }
  return StrCat(folder_, "/", name, ".plan");
}

absl::StatusOr<std::string> KeptPlans::Load(std::string_view key, int revision) const {
  DTNN_ASSIGN_OR_RETURN(const std::string path, PathOf(key));
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, ReadPrivateFile(path, kMostBytes));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string header = HeaderOf(key, revision);
  if (!text.starts_with(header)) {
    return InvalidArgument(path, ": is not a plan of revision ", revision, " of ", key);
  }
  return std::string(text.substr(header.size()));
}

absl::Status KeptPlans::Save(std::string_view key, int revision, std::string_view text) const {
  DTNN_ASSIGN_OR_RETURN(const std::string path, PathOf(key));
  const std::string file = StrCat(HeaderOf(key, revision), text);
  if (int64_t(file.size()) > kMostBytes) {
    return InvalidArgument(path, ": a plan of ", text.size(), " bytes, expected at most ",
                           kMostBytes);
  }
  return WritePrivateFile(path, file);
}

}  // namespace dtnn
