// Which clients may take part, and the public key by which each proves its name (identity.h): a
// file with a line for each, which is read again while the federation runs.
//
//   # name     public key of Ed25519, in base64
//   hospital-1 A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=
//
// Anyone that can change the file, or put another in its place in its folder, can let anyone in:
// other users must not.

#ifndef DTNN_COMM_FEDERATION_IDENTITY_ALLOWED_CLIENTS_H_
#define DTNN_COMM_FEDERATION_IDENTITY_ALLOWED_CLIENTS_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/secrets/crypto/ed25519.h"

namespace dtnn::federation {

inline constexpr size_t kMostAllowed = 4096;  // clients

// By name; no two with one key.
using ClientKeys = std::map<std::string, Ed25519PublicKey, std::less<>>;

// A part of a list may be a list of fewer clients: one that takes a client or its key away counts
// when it has stayed the same for so long.
inline constexpr std::chrono::seconds kSettles(1);

// InvalidArgument, with `path` and the line, for other text, for a last line without its end, and
// for a list of nobody.
absl::StatusOr<ClientKeys> ParseAllowedClients(std::string_view text, std::string_view path);

class AllowedClients {
 public:
  using Clock = std::chrono::steady_clock;

  // Reads it for the first time. The errors of ReadGuardedFile
  // (tensor/files/access/private_file.h) and of the text.
  static absl::StatusOr<AllowedClients> Read(const std::string& path);

  // Reads it again; whether it is another list now. One that cannot be used changes nothing, and
  // `warn` gets one line about it. One that only adds clients counts at once. Another one counts at
  // a later call, kSettles after the first that has read the same, so a file that is written at
  // this moment ends nobody.
  bool Follow(Clock::time_point now, const std::function<void(std::string_view line)>& warn);
  // Whether the file has a list that does not count yet.
  bool settles() const { return other_ && other_->keys.ok(); }

  // Whether that client may take part, with that key.
  bool Allows(std::string_view name, const Ed25519PublicKey& key) const;
  size_t size() const { return keys_.size(); }
  // Null: not on the list.
  const Ed25519PublicKey* Find(std::string_view name) const;
  // The key of one of the clients; there always is one.
  const Ed25519PublicKey& AnyKey() const { return keys_.begin()->second; }

 private:
  // A text of the file that is not the list that counts.
  struct Reading {
    std::string text;
    absl::StatusOr<ClientKeys> keys;
    Clock::time_point since;
  };

  explicit AllowedClients(std::string path) : path_(std::move(path)) {}

  std::string path_, text_;
  ClientKeys keys_;
  std::optional<Reading> other_;
  std::string trouble_;  // of the last reading; empty: none
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_IDENTITY_ALLOWED_CLIENTS_H_
