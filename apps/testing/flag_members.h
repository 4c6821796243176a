// Whether each flag of a program sets what it is called after. The flags are bound to variables of
// a struct, one of which is the launcher's Options.

#ifndef DTNN_APPS_TESTING_FLAG_MEMBERS_H_
#define DTNN_APPS_TESTING_FLAG_MEMBERS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "apps/flags/option_spec.h"
#include "apps/flags/options.h"

namespace dtnn::testing {

// The flags of a struct, with the launcher's options in it.
struct BoundFlags {
  std::vector<OptionSpec> flags;
  const Options* run;
};

// Fails where two flags set one variable.
void ExpectNoTwoFlagsSetTheSame(const std::vector<OptionSpec>& flags);

// Fails where a flag that has the launcher's name sets another member of Options than it does
// there. `bind`: the flags of a new struct, which lives until the next call. How many have its
// name.
int64_t ExpectFlagsOfTheLauncherSetItsMembers(const std::function<BoundFlags()>& bind);

}  // namespace dtnn::testing

#endif  // DTNN_APPS_TESTING_FLAG_MEMBERS_H_
