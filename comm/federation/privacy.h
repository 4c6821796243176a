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
//
// Numbers and noise are multiples of 2^-20 of the deviation, so nothing is revealed by the last
// bits of floating-point numbers (Mironov, "On significance of the least significant bits for
// differential privacy", 2012).

#ifndef DTNN_COMM_FEDERATION_PRIVACY_H_
#define DTNN_COMM_FEDERATION_PRIVACY_H_

#include <span>
#include <string>

#include "absl/status/status.h"
#include "comm/federation/renyi.h"
#include "comm/secrets/crypto/chacha20_stream.h"

namespace dtnn::federation {

// The numbers that are sent are multiples of the deviation of the noise over this.
inline constexpr double kGridPerDeviation = 1 << 20;

struct PrivacyOptions {
  double clip = 0;      // 0: no differential privacy
  double noise = 0;     // times `clip`
  double delta = 1e-5;  // at which epsilons are reported

  bool on() const { return clip > 0; }
  // What both sides must agree on, in words.
  std::string ToString() const;
};

// InvalidArgument for numbers out of range, and for noise without a clip.
absl::Status Validate(const PrivacyOptions& options);

// The deviation of the noise that one client adds to its numbers, which are multiplied by `factor`
// afterwards. `together`: of so many clients the parts must be enough.
double NoiseOfClient(const PrivacyOptions& options, double factor, int together);

// Makes of `update`, numbers that were trained from `begin`, what may be sent. InvalidArgument for
// numbers that are not finite, which are left as they are.
absl::Status MakePrivate(std::span<const float> begin, double clip, double deviation,
                         ChaCha20Stream& random, std::span<float> update);

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

#endif  // DTNN_COMM_FEDERATION_PRIVACY_H_
