#include "models/observe/energy/counter_file.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "tensor/errors.h"
#include "tensor/files/input_file.h"
#include "tensor/text/number.h"
#include "tensor/text/one_line.h"

namespace dtnn {

absl::StatusOr<std::string> ReadWord(const std::string& path) {
  DTNN_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  std::string text(256, '\0');
  DTNN_ASSIGN_OR_RETURN(const size_t count,
                        file.ReadUpTo(0, std::as_writable_bytes(std::span(text))));
  text.resize(count);
  return text.substr(0, text.find('\n'));
}

absl::StatusOr<int64_t> ReadCount(const std::string& path) {
  DTNN_ASSIGN_OR_RETURN(const std::string text, ReadWord(path));
  const std::optional<int64_t> count = NumberIn<int64_t>(text);
  if (!count || *count < 0) {
    return DataLoss(path, ": holds \"", OneLine(text, 40), "\"; expected a whole number");
  }
  return *count;
}

std::vector<std::string> EntriesOf(const std::string& folder, const std::string& prefix) {
  std::vector<std::string> paths;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().filename().string().starts_with(prefix)) {
      paths.push_back(entry->path().string());
    }
  }
  std::ranges::sort(paths);
  return paths;
}

}  // namespace dtnn
