// What decides a run's results besides what its other settings say
// (models/checkpoint/run_settings.h), for the comparison of a run that resumes with the one that it
// continues. Which options are of that kind is said beside each member (options/option_members.h).

#ifndef DTNN_MODELS_RUN_PARTS_RUN_CHOICES_H_
#define DTNN_MODELS_RUN_PARTS_RUN_CHOICES_H_

#include <vector>

#include "data/dataset.h"
#include "models/checkpoint/run_settings.h"
#include "models/run/options/run_options.h"
#include "models/run/samples/make_loaders.h"

namespace dtnn {

// The choices of a run that trains on those loaders.
std::vector<RunChoice> MakeRunChoices(const RunOptions& options, const Dataset& dataset,
                                      const Loaders& loaders);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_PARTS_RUN_CHOICES_H_
