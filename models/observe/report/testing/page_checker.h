// Reads a page as strictly as XML is read, and says all that is wrong with it: tags that are not
// closed or cross, attributes without quotes or twice, entities that are none, control characters,
// ids that are there twice or not at all; pictures without words, tables without heads or with rows
// of different lengths; anything that a browser would load or run.

#ifndef DTNN_MODELS_OBSERVE_REPORT_TESTING_PAGE_CHECKER_H_
#define DTNN_MODELS_OBSERVE_REPORT_TESTING_PAGE_CHECKER_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dtnn::testing {

struct Element {
  std::string name = {};
  std::map<std::string, std::string> attributes = {};  // entities decoded
  std::string text = {};                               // its own and that of all inside, decoded
  std::vector<std::unique_ptr<Element>> children = {};

  std::string Attribute(const std::string& key) const;  // empty: there is none
  // All elements of that name inside it, in their order.
  std::vector<const Element*> All(std::string_view name) const;
};

struct CheckedPage {
  std::vector<std::string> problems;
  Element root;  // holds <html>, or the elements of a fragment
};

CheckedPage CheckFragment(std::string_view html);
// The rules of whole pages too: a language, a title, one h1, at most 2 MB.
CheckedPage CheckPage(std::string_view html);

// The cells of a table below its head, row by row, as numbers: those of <data>, else as read.
std::vector<std::vector<double>> NumbersOf(const Element& table);

}  // namespace dtnn::testing

#endif  // DTNN_MODELS_OBSERVE_REPORT_TESTING_PAGE_CHECKER_H_
