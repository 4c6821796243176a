// The identity of a run (models/checkpoint/run_identity.h) from its options and from what they have
// become. Which options belong to it is said beside each of them (options/option_members.h).

#ifndef DTNN_MODELS_RUN_PARTS_RUN_IDENTITY_H_
#define DTNN_MODELS_RUN_PARTS_RUN_IDENTITY_H_

#include "data/dataset.h"
#include "data/loading/fingerprint.h"
#include "models/checkpoint/run_identity.h"
#include "models/run/options/run_options.h"
#include "models/run/samples/make_loaders.h"
#include "optim/optimizers/optimizer.h"

namespace dtnn {

// `data`: what the training split is. The first learning rate depends on the number of ranks: the
// caller adds it.
RunIdentity MakeRunIdentity(const RunOptions& options, const Optimizer& optimizer,
                            const Dataset& dataset, const DataFingerprint& data,
                            const Loaders& loaders);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_PARTS_RUN_IDENTITY_H_
