#include "comm/federation/aggregator/asked.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>

#include "absl/strings/ascii.h"
#include "tensor/errors.h"

namespace dtnn::federation {

absl::Status CheckLeft(std::span<const Asked> asked, int needed) {
  const auto gone = std::ranges::count(asked, Asked::State::kLeftOut, &Asked::state);
  const int64_t left = int64_t(asked.size()) - gone;
  if (left >= needed) return absl::OkStatus();
  return FailedPrecondition("only ", left, " of ", asked.size(), " clients are left, and ", needed,
                            " are needed");
}

std::string WithNames(std::string_view text, std::span<const Asked> asked) {
  constexpr std::string_view kClient = "client ";
  const auto is_of_word = [](char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_'; };
  std::string named;
  for (size_t at = text.find(kClient); at != text.npos; at = text.find(kClient)) {
    named += text.substr(0, at + kClient.size());
    text.remove_prefix(at + kClient.size());
    const size_t length = size_t(std::ranges::find_if_not(text, is_of_word) - text.begin());
    const std::string_view word = text.substr(0, length);
    uint32_t position = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + length, position);
    const bool is_position =
        error == std::errc() && end == word.data() + length && position < asked.size();
    named += is_position ? std::string_view(asked[position].name) : word;
    text.remove_prefix(length);
  }
  return named.append(text);
}

absl::Status WithNames(const absl::Status& status, std::span<const Asked> asked) {
  if (status.ok()) return status;
  return absl::Status(status.code(), WithNames(std::string(status.message()), asked));
}

std::vector<Asked> WithNames(std::span<const Asked> asked) {
  std::vector<Asked> named(asked.begin(), asked.end());
  for (Asked& client : named) client.why = WithNames(client.why, asked);
  return named;
}

}  // namespace dtnn::federation
