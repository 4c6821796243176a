#include "comm/secrets/masked/share_search.h"

#include <algorithm>
#include <random>

#include "tensor/errors.h"

namespace dtnn::masked {

absl::StatusOr<Secret> FindSecret(std::vector<SecretShare>& shares, int threshold,
                                  const IsSecret& is_secret, int& tries) {
  std::mt19937 random(1);
  while (true) {
    DTNN_ASSIGN_OR_RETURN(const Secret secret, RebuildSecret(shares, threshold));
    DTNN_ASSIGN_OR_RETURN(const bool right, is_secret(secret));
    if (right) return secret;
    if (shares.size() == size_t(threshold) || tries <= 0) {
      return DataLoss("among ", shares.size(), " shares no ", threshold,
                      " were found that are right; it is not known which are wrong");
    }
    --tries;
    std::ranges::shuffle(shares, random);
  }
}

absl::StatusOr<std::vector<int>> WrongShares(const std::vector<SecretShare>& shares,
                                             int threshold) {
  std::vector<int> wrong;
  DTNN_ASSIGN_OR_RETURN(const SharePolynomials polynomials,
                        SharePolynomials::Through(shares, threshold));
  for (size_t i = size_t(threshold); i < shares.size(); ++i) {
    if (!polynomials.Share(shares[i].index).Equals(shares[i].value)) {
      wrong.push_back(shares[i].index);
    }
  }
  const size_t others = shares.size() - size_t(threshold);
  if (others > 1 && wrong.size() == others) wrong.clear();
  return wrong;
}

}  // namespace dtnn::masked
