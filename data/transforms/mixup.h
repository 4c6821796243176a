// Mixup (Zhang et al., ICLR 2018): two samples become one, x = s a + (1 - s) b, and so do their
// targets, rows of probabilities. The loader mixes each sample with the one after it in the
// epoch's order, which is another one in every epoch.
//
// s is drawn from Beta(alpha, alpha), or 1 - s where that is larger: then each sample of an epoch
// has the larger share once. Over all pairs this is the same.

#ifndef DTNN_DATA_TRANSFORMS_MIXUP_H_
#define DTNN_DATA_TRANSFORMS_MIXUP_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "data/transforms/transform.h"

namespace dtnn {

// InvalidArgument unless alpha is in [0, 2]; 0 mixes nothing.
absl::Status CheckMixup(double alpha);

// The share of the sample at `place` of the order of `epoch`, in [0.5, 1].
double MixupShare(double alpha, uint64_t seed, int64_t epoch, int64_t place);

// a = share a + (1 - share) b
void Mix(double share, std::span<float> a, std::span<const float> b);
void Mix(double share, std::span<double> a, std::span<const double> b);

}  // namespace dtnn

#endif  // DTNN_DATA_TRANSFORMS_MIXUP_H_
