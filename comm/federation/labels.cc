#include "comm/federation/labels.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_split.h"
#include "tensor/errors.h"

namespace dtnn::federation {

bool IsLabelWord(std::string_view word) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !word.empty() && word.size() <= kMostLabelBytes && std::ranges::all_of(word, good);
}

absl::Status CheckLabels(const Labels& labels) {
  if (labels.size() > kMostLabels) {
    return InvalidArgument(labels.size(), " labels; a client has ", kMostLabels, " at most");
  }
  std::set<std::string_view> keys;
  for (const auto& [key, value] : labels) {
    for (const std::string& word : {key, value}) {
      if (IsLabelWord(word)) continue;
      return InvalidArgument("a label with ", Quoted(word, 80),
                             ": expected KEY=VALUE, each of 1 to ", kMostLabelBytes,
                             " letters, digits and \"._-\"");
    }
    if (key == kSamplesFact || key == kStepsFact || key == kNameFact) {
      return InvalidArgument("a label called ", key,
                             ": that is known of every client; take another word");
    }
    if (!keys.insert(key).second) return InvalidArgument("the label ", key, " appears twice");
  }
  return absl::OkStatus();
}

absl::StatusOr<Labels> ParseLabels(std::string_view text) {
  Labels labels;
  if (text.empty()) return labels;
  const std::vector<std::string> parts = absl::StrSplit(std::string(text), ',');
  for (const std::string& part : parts) {
    const size_t equals = part.find('=');
    if (equals == part.npos) {
      return InvalidArgument("a label ", Quoted(part, 80),
                             ": expected KEY=VALUE, such as site=north");
    }
    labels.emplace_back(part.substr(0, equals), part.substr(equals + 1));
  }
  DTNN_RETURN_IF_ERROR(CheckLabels(labels));
  std::ranges::sort(labels);
  return labels;
}

std::string TextOf(const Labels& labels) {
  std::string text;
  for (const auto& [key, value] : labels) {
    StrAppend(&text, text.empty() ? "" : ",", key, "=", value);
  }
  return text;
}

}  // namespace dtnn::federation
