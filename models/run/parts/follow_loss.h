// What schedulers watch where it is not said.

#ifndef DTNN_MODELS_RUN_PARTS_FOLLOW_LOSS_H_
#define DTNN_MODELS_RUN_PARTS_FOLLOW_LOSS_H_

#include <string_view>

#include "models/run/options/run_options.h"
#include "optim/losses/better.h"

namespace dtnn {

// Whether larger or smaller values of a metric or a loss, perhaps after "val_", are better.
Better BetterWatched(std::string_view watched);

// Schedulers that watch the loss `before`, unless it was given, watch the loss of the run: that of
// the validation split where there is one. A best model is kept where its folder is given, or where
// model_checkpoint is: then in the working directory.
void FollowLoss(RunOptions& options, std::string_view before = kDefaultLoss);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_PARTS_FOLLOW_LOSS_H_
