// What decides a run's results besides what its other settings say
// (models/checkpoint/run_settings.h), for the comparison of a run that resumes with the one that it
// continues: every option of that kind stands here, once.

#ifndef DTNN_APPS_MAKE_RUN_CHOICES_H_
#define DTNN_APPS_MAKE_RUN_CHOICES_H_

#include <vector>

#include "apps/flags/options.h"
#include "apps/make/make_loaders.h"
#include "data/dataset.h"
#include "models/checkpoint/run_settings.h"

namespace dtnn {

// Of a run that trains on those loaders.
std::vector<RunChoice> MakeRunChoices(const Options& options, const Dataset& dataset,
                                      const Loaders& loaders);

}  // namespace dtnn

#endif  // DTNN_APPS_MAKE_RUN_CHOICES_H_
