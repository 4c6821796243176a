// What tests look for in the texts that programs write.

#ifndef DTNN_APPS_TESTING_TEXTS_H_
#define DTNN_APPS_TESTING_TEXTS_H_

#include <string>
#include <vector>

namespace dtnn::testing {

// The contents of a file, which must exist.
std::string Contents(const std::string& path);

// The numbers of a text, in their order.
std::vector<double> Numbers(const std::string& text);

int Count(const std::string& in, const std::string& text);

}  // namespace dtnn::testing

#endif  // DTNN_APPS_TESTING_TEXTS_H_
