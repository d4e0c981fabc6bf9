"""Returns a view whose axes lie in another order than the output's."""


def softmax(x):
    return x.t().contiguous().softmax(0).t()
