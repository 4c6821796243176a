#include "comm/federation/identity/allowed_clients.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "comm/federation/messages.h"
#include "tensor/errors.h"
#include "tensor/files/access/private_file.h"

namespace dtnn::federation {
namespace {

constexpr int64_t kMostBytes = 1 << 20;

absl::StatusOr<std::string> ReadText(const std::string& path) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, ReadGuardedFile(path, kMostBytes));
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// The words of a line, without its comment.
std::vector<std::string> WordsOf(absl::string_view line) {
  return absl::StrSplit(line.substr(0, line.find('#')), absl::ByAnyChar(" \t\r"),
                        absl::SkipEmpty());
}

// Whether all clients of `now` have their keys in `next`.
bool OnlyAdds(const ClientKeys& now, const ClientKeys& next) {
  return std::ranges::all_of(now, [&next](const auto& name_and_key) {
    const auto place = next.find(name_and_key.first);
    return place != next.end() && place->second == name_and_key.second;
  });
}

}  // namespace

absl::StatusOr<ClientKeys> ParseAllowedClients(std::string_view text, std::string_view path) {
  ClientKeys keys;
  std::map<Ed25519PublicKey, std::string> owners;
  std::map<std::string, int64_t, std::less<>> lines;
  if (!text.empty() && text.back() != '\n') {
    return InvalidArgument(path, ":", 1 + std::ranges::count(text, '\n'),
                           ": the last line has no end: is the file half written? Expected a "
                           "newline");
  }
  int64_t number = 0;
  for (const absl::string_view line :
       absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    ++number;
    const auto wrong = [&](const auto&... what) {
      return InvalidArgument(path, ":", number, ": ", what...);
    };
    const std::vector<std::string> words = WordsOf(line);
    if (words.empty()) continue;
    if (words.size() != 2) {
      return wrong("has ", words.size(), words.size() == 1 ? " word" : " words",
                   "; expected a client's name and its public key");
    }
    const absl::Status name = CheckClientName(words[0]);
    if (!name.ok()) return wrong(name.message());
    const absl::StatusOr<Ed25519PublicKey> key = Ed25519PublicKeyFromText(words[1]);
    if (!key.ok()) return wrong("the key of ", words[0], " ", key.status().message());
    if (keys.size() == kMostAllowed) return wrong("more than ", kMostAllowed, " clients");
    if (!keys.emplace(words[0], *key).second) {
      return wrong(words[0], " has a key in line ", lines[words[0]],
                   " already; a client has one line");
    }
    lines[words[0]] = number;
    const auto [owner, is_new] = owners.emplace(*key, words[0]);
    if (!is_new) {
      return wrong(words[0], " has the key of ", owner->second, " in line ", lines[owner->second],
                   "; each client needs a key of its own");
    }
  }
  if (keys.empty()) return InvalidArgument(path, ": names no client; nobody could take part");
  return keys;
}

absl::StatusOr<AllowedClients> AllowedClients::Read(const std::string& path) {
  AllowedClients list(path);
  DTNN_ASSIGN_OR_RETURN(list.text_, ReadText(path));
  DTNN_ASSIGN_OR_RETURN(list.keys_, ParseAllowedClients(list.text_, path));
  return list;
}

bool AllowedClients::Follow(Clock::time_point now,
                            const std::function<void(std::string_view line)>& warn) {
  absl::StatusOr<std::string> text = ReadText(path_);
  if (text.ok() && *text == text_) {
    other_.reset();
    trouble_.clear();
    return false;
  }
  if (!text.ok()) {
    other_ = Reading{.text = "", .keys = text.status(), .since = now};
  } else if (!other_ || other_->text != *text || text->empty()) {
    absl::StatusOr<ClientKeys> keys = ParseAllowedClients(*text, path_);
    other_ = Reading{.text = *std::move(text), .keys = std::move(keys), .since = now};
  }
  if (!other_->keys.ok()) {
    std::string trouble(other_->keys.status().message());
    if (trouble != trouble_ && warn) warn(StrCat(trouble, "; the list of before stays in force"));
    trouble_ = std::move(trouble);
    return false;
  }
  trouble_.clear();
  if (!OnlyAdds(keys_, *other_->keys) && now < other_->since + kSettles) return false;
  const bool changed = *other_->keys != keys_;
  text_ = std::move(other_->text);
  keys_ = *std::move(other_->keys);
  other_.reset();
  return changed;
}

bool AllowedClients::Allows(std::string_view name, const Ed25519PublicKey& key) const {
  const Ed25519PublicKey* const own = Find(name);
  return own != nullptr && *own == key;
}

const Ed25519PublicKey* AllowedClients::Find(std::string_view name) const {
  const auto place = keys_.find(name);
  return place == keys_.end() ? nullptr : &place->second;
}

}  // namespace dtnn::federation
