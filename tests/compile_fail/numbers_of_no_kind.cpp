// expect: T must be a number type|takes numbers|takes a pointer to elements|an index is an integer
// Arguments that are not numbers are refused in one sentence.
#include <string>
#include <vector>
#include <minnow/minnow.h>

void read(const minnow::Tensor& x, const std::vector<std::string>& words, long double* numbers) {
  (void)x.item<std::size_t>();
  (void)x.item<std::string>();            // must not compile
  (void)x.to_vector<char*>();             // must not compile
  (void)minnow::tensor(words);            // must not compile
  (void)minnow::from_blob(numbers, {2});  // must not compile
  (void)x(0, "1");                        // must not compile
}
