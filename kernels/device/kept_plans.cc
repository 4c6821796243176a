#include "kernels/device/kept_plans.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <span>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "tensor/errors.h"
#include "tensor/files/atomic_file.h"
#include "tensor/files/private_file.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

// Of a file: this and the key, on a line.
constexpr std::string_view kTitle = "# plan of ";
// Of a name, which file systems end at 255 bytes.
constexpr size_t kMostName = 240;

std::string HeaderOf(std::string_view key) { return StrCat(kTitle, key, "\n"); }

}  // namespace

absl::StatusOr<std::unique_ptr<KeptPlans>> KeptPlans::Open(
    std::string_view folder, std::function<void(std::string_view)> warn) {
  std::unique_ptr<KeptPlans> plans(new KeptPlans(folder, std::move(warn)));
  std::error_code error;
  std::filesystem::create_directory(plans->folder_, error);
  if (error) return InvalidArgument(folder, ": cannot be made: ", error.message());
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

absl::StatusOr<std::string> KeptPlans::Load(std::string_view key) const {
  DTNN_ASSIGN_OR_RETURN(const std::string path, PathOf(key));
  DTNN_RETURN_IF_ERROR(CheckPrivateFile(path));
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, ReadFile(path, kMostBytes));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string header = HeaderOf(key);
  if (!text.starts_with(header)) return InvalidArgument(path, ": is no plan of ", key);
  return std::string(text.substr(header.size()));
}

absl::Status KeptPlans::Save(std::string_view key, std::string_view text) const {
  DTNN_ASSIGN_OR_RETURN(const std::string path, PathOf(key));
  const std::string file = StrCat(HeaderOf(key), text);
  if (int64_t(file.size()) > kMostBytes) {
    return InvalidArgument(path, ": a plan of ", text.size(), " bytes, expected at most ",
                           kMostBytes);
  }
  return WritePrivateFile(path, file);
}

}  // namespace dtnn
