#include "models/callbacks/history_form.h"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <string>

#include "absl/strings/ascii.h"

namespace dtnn {

std::optional<HistoryForm> HistoryFormOf(std::string_view path) {
  const std::string ending =
      absl::AsciiStrToLower(std::filesystem::path(path).extension().string());
  if (ending == ".csv") return HistoryForm::kCsv;
  if (ending == ".jsonl") return HistoryForm::kJsonLines;
  const bool none =
      ending.size() < 2 || !absl::ascii_isalpha(static_cast<unsigned char>(ending[1]));
  if (none || ending == ".txt" || ending == ".log" || ending == ".dat") return HistoryForm::kText;
  return std::nullopt;
}

std::string HistoryNumber(HistoryForm form, double value) {
  if (form == HistoryForm::kJsonLines && !std::isfinite(value)) return "null";
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

}  // namespace dtnn
