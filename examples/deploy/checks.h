// What files for clusters must keep: their options are those of the programs, and the ranks that
// they start find their places.

#ifndef DTNN_EXAMPLES_DEPLOY_CHECKS_H_
#define DTNN_EXAMPLES_DEPLOY_CHECKS_H_

#include <map>
#include <string>
#include <vector>

#include "comm/launch_place.h"
#include "examples/deploy/called_programs.h"

namespace dtnn::testing {

using Words = std::vector<std::string>;

inline const std::string kDeployFolder = "examples/deploy/";

// The value of --name=VALUE among them; empty: there is none.
std::string OptionOf(const Words& words, const std::string& name);

// That words are as dtnn takes them, by the parsers of the programs.
void ExpectValid(Words words);

// That these are all ranks of a job, each with a place of its own, and that they meet at one.
void ExpectPlaces(const std::map<std::string, ProgramCall>& calls, int ranks, Transport transport);

}  // namespace dtnn::testing

#endif  // DTNN_EXAMPLES_DEPLOY_CHECKS_H_
