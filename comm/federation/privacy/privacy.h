// Differential privacy of clients: what one sends is cut to a length and drowned in noise, so that
// what comes of it would have come without this client, too, with about the same probability
// (docs/security.md).
//
//   the update of a client   the difference to the parameters of the round, as one vector; longer
//                            than `clip`, it is shortened to that
//   noise                    normal, of deviation `noise` times `clip`: in each update where the
//                            aggregator reads it, in each sum where it does not. There every client
//                            adds a part of that, so that the fewest clients of which there can be
//                            a sum make the whole
//   a clip that adapts       follows a quantile of the lengths of updates (Andrew et al.,
//                            "Differentially private learning with adaptive clipping", 2021): each
//                            client adds one number, 1/2 where its update was not longer than the
//                            clip of the round, else -1/2, with noise of its own. Both releases
//                            together tell as much as one with `noise`: that of updates is a little
//                            larger, 1 / noise^2 = 1 / update_noise()^2 + 1 / (2 bits())^2
//
// Numbers and noise are multiples of 2^-20 of the deviation, so nothing is revealed by the last
// bits of floating-point numbers (Mironov, "On significance of the least significant bits for
// differential privacy", 2012).

#ifndef DTNN_COMM_FEDERATION_PRIVACY_PRIVACY_H_
#define DTNN_COMM_FEDERATION_PRIVACY_PRIVACY_H_

#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/federation/privacy/renyi.h"
#include "comm/secrets/crypto/chacha20_stream.h"

namespace dtnn::federation {

// The numbers that are sent are multiples of the deviation of the noise over this.
inline constexpr double kGridPerDeviation = 1 << 20;
// The longest vector of so many elements that is not longer than `clip` after each was rounded to a
// multiple of `step`: rounding may lengthen it by half the diagonal of a cell. Not positive where
// nothing is left.
double LongestBeforeRounding(double clip, double step, size_t elements);

struct PrivacyOptions {
  double clip = 0;      // 0: no differential privacy
  double noise = 0;     // times `clip`
  double delta = 1e-5;  // at which epsilons are reported
  // The share of updates that are not longer than the clip, which it follows from round to round,
  // beginning with `clip`; 0: it stays.
  double quantile = 0;
  double clip_rate = 0.2;  // of its steps: NextClip
  double bit_noise = 0;    // deviation of the noise of a sum of bits; 0: twice `noise`

  bool on() const { return clip > 0; }
  bool adapts() const { return quantile > 0; }
  double bits() const { return bit_noise > 0 ? bit_noise : 2 * noise; }
  // The deviation of the noise of updates over the clip.
  double update_noise() const;
  // The same with the clip of a round; 0: with its own.
  PrivacyOptions WithClip(double of_round) const;
  // What both sides must agree on, in words.
  std::string ToString() const;
};

// A clip that adapts stays within these factors of the first one. Where noise would be lost in
// rounding before that, clients refuse the round (LeastNoise in protocol.h).
inline constexpr double kMostClipChange = 1000;

// InvalidArgument for numbers out of range, for noise without a clip, and for bits with so little
// noise that they tell more than all together may.
absl::Status Validate(const PrivacyOptions& options);

// The deviation of the noise that one client adds to its numbers, which are multiplied by `factor`
// afterwards. `together`: of so many clients the parts must be enough.
double NoiseOfClient(const PrivacyOptions& options, double factor, int together);

// Makes of `update`, numbers that were trained from `begin`, what may be sent; says whether it was
// not longer than the clip. InvalidArgument for numbers that are not finite, which are left as they
// are.
absl::StatusOr<bool> MakePrivate(std::span<const float> begin, double clip, double deviation,
                                 ChaCha20Stream& random, std::span<float> update);

// Where the clip adapts: what a client says of its update, to be multiplied by `factor` as that is.
float NumberOfBit(const PrivacyOptions& options, bool below, double factor, int together,
                  ChaCha20Stream& random);
// OutOfRange for a number, times its client's factor, that none comes to with all of its noise.
absl::Status CheckNumberOfBit(const PrivacyOptions& options, double number);
// The share of updates that were not longer than the clip, but for noise, of the mean of these
// numbers.
double ShareBelow(const PrivacyOptions& options, double mean);
// The nearest clip that a round may have.
double NearFirstClip(const PrivacyOptions& options, double clip);
// clip exp(-clip_rate (below - quantile)), within kMostClipChange of the first clip; `below` counts
// as -1 to 2.
double NextClip(const PrivacyOptions& options, double clip, double below);

// What has been revealed of a client that took part whenever it could.
class PrivacyLedger {
 public:
  // The aggregator has read updates, one by one.
  void AddUpdates(const PrivacyOptions& options) { aggregator_.Add(1, options.noise); }
  // It could read a sum of `accepted` updates, each with the noise for `together`.
  void AddRead(const PrivacyOptions& options, int accepted, int together);
  // Such a sum, of clients that were asked with probability `sampling`, became the model.
  void AddModel(const PrivacyOptions& options, int accepted, int together, double sampling);

  // To those who see the model after each round, and not whom the aggregator asked.
  const RenyiAccountant& model() const { return model_; }
  RenyiAccountant& model() { return model_; }
  // To the aggregator, which knows whom it asked.
  const RenyiAccountant& aggregator() const { return aggregator_; }
  RenyiAccountant& aggregator() { return aggregator_; }

 private:
  RenyiAccountant model_, aggregator_;
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_PRIVACY_PRIVACY_H_
