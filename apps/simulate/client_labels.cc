#include "apps/simulate/client_labels.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_split.h"
#include "tensor/errors.h"
#include "tensor/files/atomic_file.h"

namespace dtnn {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 30;

}  // namespace

absl::StatusOr<std::vector<federation::Labels>> ReadClientLabels(const std::string& path,
                                                                 int64_t clients) {
  std::vector<federation::Labels> labels;
  if (path.empty()) return std::vector<federation::Labels>(size_t(clients));
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes,
                        WithContext(ReadFile(path, kMostBytes), "--client-labels-file"));
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.ends_with('\n')) text.pop_back();
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (const std::string& line : lines) {
    absl::StatusOr<federation::Labels> of_client = federation::ParseLabels(line);
    if (!of_client.ok()) {
      return InvalidArgument(path, ", line ", labels.size() + 1, ": ",
                             of_client.status().message());
    }
    labels.push_back(*std::move(of_client));
  }
  if (int64_t(labels.size()) == clients) return labels;
  return InvalidArgument(path, ": has ", labels.size(), " lines; expected one for each of ",
                         clients, " clients (--clients)");
}

}  // namespace dtnn
