// How the options of a run are listed under the names of their flags.

#ifndef DTNN_APPS_PRINTING_RUN_LISTS_H_
#define DTNN_APPS_PRINTING_RUN_LISTS_H_

#include "apps/flags/options.h"
#include "models/run/observe/run_listing.h"

namespace dtnn {

// `given`: as the user gave them; must outlive the listing. Hyperparameters are those that were
// given, and those that most runs differ in.
RunListing ListingOf(const Options& given);

}  // namespace dtnn

#endif  // DTNN_APPS_PRINTING_RUN_LISTS_H_
