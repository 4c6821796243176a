// Secrets from shares of which some may be wrong, and which ones those are.
//
// If it is known whether a secret is the right one, by its hash or public key, the search needs as
// many right shares as make it, and no more: the others may all be wrong. They are found by trying:
// the first ones, then random choices. Of n shares of which t make the secret and e are wrong, a
// choice is good with a probability of about ((n - t) / n)^e: a third per liar where t is two
// thirds of n.

#ifndef DTNN_COMM_SECRETS_MASKED_SHARE_SEARCH_H_
#define DTNN_COMM_SECRETS_MASKED_SHARE_SEARCH_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/secrets/crypto/shamir.h"
#include "comm/secrets/crypto/wiped.h"

namespace dtnn::masked {

using IsSecret = std::function<absl::StatusOr<bool>(const Secret&)>;

// The secret, and `shares` in an order in which the first `threshold` make it. `tries` is how many
// more choices may be wrong, and counts down. DataLoss where none was good.
absl::StatusOr<Secret> FindSecret(std::vector<SecretShare>& shares, int threshold,
                                  const IsSecret& is_secret, int& tries);

// The indices of those that do not belong to the first `threshold`, which have made the secret.
// None where all of several others do not belong: errors of two or more shares can be such that
// they cancel in the secret, and then the others are right.
absl::StatusOr<std::vector<int>> WrongShares(const std::vector<SecretShare>& shares, int threshold);

}  // namespace dtnn::masked

#endif  // DTNN_COMM_SECRETS_MASKED_SHARE_SEARCH_H_
