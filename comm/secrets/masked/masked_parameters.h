// Secure aggregation by masks: what all parties of one sum agree on, and what they send each other.
//
// Client u sends x_u + PRG(b_u) + sum over v > u of PRG(s_uv) - sum over v < u of PRG(s_uv), in
// integers modulo 2^32 or 2^64: every pair's mask s_uv appears twice with opposite signs, so in the
// sum only the clients' own masks b_u are left, which they help to remove. A single client's
// numbers look uniformly random. Clients may drop out: shares of b_u and of the private key behind
// s_uv were given to all others, of which any `threshold` can rebuild one of the two, never both
// (Bonawitz et al., "Practical secure aggregation for privacy-preserving machine learning", 2017,
// without its signatures).
//
//   client                         server
//   Advertise                  ->  AddAdvertisement      two public keys each
//   Share                      <-  CloseAdvertised       sealed shares for every other client
//                              ->  AddShares
//   Receive                    <-  SharesFor             who takes part is fixed now
//   Mask, numbers              ->  (adds the words)
//   Vote                       <-  the survivors         only where not all are neighbours
//                              ->  AddVote
//   Reveal                     <-  (the votes)           a share per participant
//                              ->  AddReveal
//                                  Unmask                the sum of the survivors
//
// Masks and shares with all others cost each client work, and all of them bytes, that grow with the
// number of clients. So clients may have a few neighbours each instead (mask_graph.h,
// enough_neighbours.h): the sums over v above are over neighbours, and only these hold shares
// (Bell, Bonawitz, Gascon, Lepoint, Raykova, "Secure single-server aggregation with
// (poly)logarithmic overhead", 2020). No neighbourhood would then notice that the server names
// other survivors to others, so each client first sees, by votes, that more than two thirds
// of all clients have the same list.
//
// Protects each client's numbers, beyond what the sum says, from the server and from fewer than
// `threshold` clients, with neighbours from a quarter of the clients, as long as the server follows
// the protocol; where clients have a key that the server does not have (Bond), also from one that
// does not: docs/security.md.

#ifndef DTNN_COMM_SECRETS_MASKED_MASKED_PARAMETERS_H_
#define DTNN_COMM_SECRETS_MASKED_MASKED_PARAMETERS_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/secrets/crypto/hash.h"
#include "comm/secrets/crypto/wiped.h"
#include "comm/secrets/crypto/x25519.h"
#include "comm/secrets/masked/enough_neighbours.h"

namespace dtnn::masked {

// The most clients of a sum, where they have neighbours.
inline constexpr int kMostMasked = 1024;

struct MaskedParameters {
  int clients = 3;  // 0 .. clients - 1, 2 to 255 of them, or kMostMasked with neighbours
  // Shares that rebuild a secret; also the size of a group that could unmask others. 0: of
  // floor(2 clients / 3) + 1 clients, or ThresholdOf(neighbours).
  int threshold = 0;
  uint64_t round = 0;  // one sum: keys and masks are never used for another one
  // Neighbours of each client, an even number from 4 to 254, below clients - 1; 0: all others.
  int neighbours = 0;

  bool complete() const { return neighbours == 0; }
  // Shares of each secret; the client itself keeps one.
  int shares() const { return complete() ? clients : neighbours + 1; }
  int shares_needed() const {
    if (threshold != 0) return threshold;
    return complete() ? 2 * clients / 3 + 1 : ThresholdOf(neighbours);
  }
  // Clients that must stay until the end.
  int least() const { return complete() ? shares_needed() : 2 * clients / 3 + 1; }
};

absl::Status Validate(const MaskedParameters& parameters);

// Keys of client `client`: for the encryption of shares, for masks, and a hash of its own mask's
// seed, by which the server knows that it was rebuilt well.
struct Advertisement {
  int client = 0;
  X25519PublicKey sealing{}, masking{};
  Hash own_mask{};
};

// Shares of the client's two secrets, readable by `to` only.
struct SealedShares {
  int from = 0, to = 0;
  std::vector<uint8_t> sealed;
};

// With which a client says, to all others, which list of survivors it has got.
struct Vote {
  int client = 0;
  Hash proof{};
};

// What a client reveals: for each participant around it a share of its own mask's seed where it
// survived, else of its private key of masking.
struct Reveal {
  struct Entry {
    int client = 0;
    bool survived = false;
    Secret share;
  };
  int client = 0;
  std::vector<Entry> entries;
};

// As bytes, with lengths checked against the parameters before anything is allocated; DataLoss for
// others.
std::vector<uint8_t> ToBytes(const Advertisement& message);
std::vector<uint8_t> ToBytes(const SealedShares& message);
std::vector<uint8_t> ToBytes(const Vote& message);
std::vector<uint8_t> ToBytes(const Reveal& message);
absl::StatusOr<Advertisement> AdvertisementFromBytes(const MaskedParameters& parameters,
                                                     std::span<const uint8_t> bytes);
absl::StatusOr<SealedShares> SealedSharesFromBytes(const MaskedParameters& parameters,
                                                   std::span<const uint8_t> bytes);
absl::StatusOr<Vote> VoteFromBytes(const MaskedParameters& parameters,
                                   std::span<const uint8_t> bytes);
absl::StatusOr<Reveal> RevealFromBytes(const MaskedParameters& parameters,
                                       std::span<const uint8_t> bytes);

}  // namespace dtnn::masked

#endif  // DTNN_COMM_SECRETS_MASKED_MASKED_PARAMETERS_H_
