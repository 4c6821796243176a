// The names that --model, --dataset, --augment and --conv-direct-method take: the answers to
// --model=list and so on, and to names that there are not. The same in every program.

#ifndef DTNN_APPS_PRINTING_NAME_LISTS_H_
#define DTNN_APPS_PRINTING_NAME_LISTS_H_

#include <ostream>
#include <string_view>

#include "absl/status/status.h"
#include "apps/flags/option_spec.h"

namespace dtnn {

// A line per network of the zoo, with its size.
void ListModels(std::ostream& out);
void ListDatasets(std::ostream& out);
// What each does, and its parameters.
void ListTransforms(std::ostream& out);
// A line for each, with what it means here.
void ListDirectMethods(std::ostream& out);
// The list that `action` asks for; false: it asks for none.
bool PrintList(Action action, std::ostream& out);

// OK for a network of the zoo, else CheckName's usage error (flags/parser.h) over --`flag`.
absl::Status CheckModelName(std::string_view model, std::string_view flag = "model");

}  // namespace dtnn

#endif  // DTNN_APPS_PRINTING_NAME_LISTS_H_
