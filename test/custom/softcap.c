#include <math.h>

static float softcap(float x, float limit) { return limit * tanhf(x / limit); }
